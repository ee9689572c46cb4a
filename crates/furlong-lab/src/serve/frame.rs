//! The frame of every page: navigation, style, and a link that skips them.

use std::sync::LazyLock;

use maud::{DOCTYPE, Markup, Render, html};

use super::answer::Answer;
use super::route::Route;
use crate::hash::fnv1a;
use crate::record::build;
use crate::report::html::STYLE;
pub(super) use crate::report::text::called;
use crate::report::text::{plain, shorten};

/// The style of the reports, and the site's own.
static SHEET: LazyLock<String> = LazyLock::new(|| [STYLE, include_str!("site.css")].concat());

/// A racing post, as the icon of the browser's tab.
const ICON: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 16 16\">\
    <rect width=\"16\" height=\"16\" rx=\"3\" fill=\"#00664b\"/>\
    <path d=\"M3 12.5h10M5 12.5v-4M8 12.5v-9M11 12.5v-6\" stroke=\"#fffefa\" stroke-width=\"1.6\" \
    fill=\"none\"/></svg>";

/// Columns at which a title is cut.
const TITLE_COLUMNS: usize = 100;

/// A page under construction.
pub(super) struct Page {
    title: String,
    crumbs: Vec<(String, String)>,
    /// The content under the title.
    pub(super) content: Markup,
}

impl Page {
    /// An empty page.
    pub(super) fn new(title: &str) -> Page {
        Page {
            title: shorten(&called(title), TITLE_COLUMNS),
            crumbs: vec![],
            content: html! {},
        }
    }

    /// Adds a step to the path from the first page to this one.
    pub(super) fn crumb(&mut self, name: &str, route: &Route) {
        self.crumbs
            .push((shorten(&called(name), TITLE_COLUMNS / 2), route.to_string()));
    }

    /// The complete HTML.
    pub(super) fn render(&self) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    link rel="stylesheet" href=(Route::Style);
                    link rel="icon" type="image/svg+xml" href=(Route::Icon);
                    title { (self.title) " – furlong" }
                }
                body.site {
                    a.skip href="#content" { "Skip to the content" }
                    header { (self.way()) }
                    main id="content" tabindex="-1" {
                        h1 { bdi { (self.title) } }
                        (self.content)
                    }
                    footer { p { "furlong " (plain(&build::version())) } }
                }
            }
        };
        page.into_string()
    }

    fn way(&self) -> Markup {
        html! {
            nav aria-label="Breadcrumb" {
                ol.crumbs {
                    @for (name, address) in &self.crumbs {
                        li { a href=(address) { bdi { (name) } } }
                    }
                    li { span aria-current="page" { bdi { (self.title) } } }
                }
            }
        }
    }
}

/// The style sheet; `known` is the entity tag in the browser's cache.
pub(super) fn style(known: Option<&str>) -> Answer {
    Answer::of("text/css; charset=utf-8", SHEET.as_bytes()).kept(&mark(&SHEET), known)
}

/// The icon of the browser's tab.
pub(super) fn icon(known: Option<&str>) -> Answer {
    Answer::of("image/svg+xml", ICON.as_bytes()).kept(&mark(ICON), known)
}

/// An entity tag: a hash of the text.
fn mark(text: &str) -> String {
    format!("\"{:016x}\"", fnv1a(text.as_bytes()))
}

/// A route in a page is its address.
impl Render for Route {
    fn render(&self) -> Markup {
        self.to_string().render()
    }
}
