//! The run's command, machine and environment: enough to repeat it.

use maud::{Markup, html};

use crate::model::result::Run;
use crate::report::markdown;
use crate::report::text::{command_line, plain};

/// The run's part of the page.
pub(super) fn section(run: &Run) -> Markup {
    let mut facts = vec![
        ("run", plain(&run.id)),
        ("furlong", plain(&run.version)),
        ("profile", plain(&run.profile)),
        ("seed", run.seed.to_string()),
    ];
    facts.extend(markdown::machine(&run.machine));
    html! {
        details {
            summary { h2 { "The run and its machine" } }
            @if !run.command.is_empty() {
                div.scroll tabindex="0" role="group" aria-label="Command" {
                    pre { (command_line(&run.command)) }
                }
            }
            dl {
                @for (name, value) in &facts {
                    dt { (name) }
                    dd { bdi { (plain(value)) } }
                }
            }
        }
    }
}
