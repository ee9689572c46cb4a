//! The documents' figures for programs: `furlong.seeds/1`. Fields may be added, never renamed
//! within /1.
#![forbid(unsafe_code)]

use serde::Serialize;

use super::document::{Claim, Counterpart, Document, Evidence};
use super::judgement::{Judgement, MARGIN_PCT, judge, together};
use super::measured::{Measured, Records};
use furlong_lab::model::result::Better;

#[derive(Serialize)]
struct Shelf<'a> {
    schema: &'static str,
    margin_pct: f64,
    documents: Vec<DocumentFigures<'a>>,
}

#[derive(Serialize)]
struct DocumentFigures<'a> {
    system: &'a str,
    title: &'a str,
    source: &'a str,
    claims: Vec<ClaimFigures<'a>>,
    together: Vec<String>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct ClaimFigures<'a> {
    name: &'a str,
    lines: &'a [u32],
    published: &'a str,
    better: Better,
    evidence: &'a Evidence,
    judgement: Judgement,
    counterpart: Option<&'a Counterpart>,
    measured: Option<Measured>,
}

/// The figures of all documents.
pub fn figures<'a>(documents: &'a [Document], records: &Records) -> impl Serialize + use<'a> {
    Shelf {
        schema: "furlong.seeds/1",
        margin_pct: MARGIN_PCT,
        documents: documents
            .iter()
            .map(|document| DocumentFigures::of(document, records))
            .collect(),
    }
}

impl<'a> DocumentFigures<'a> {
    fn of(document: &'a Document, records: &Records) -> Self {
        let claims = document.claims.iter();
        Self {
            system: &document.system,
            title: &document.title,
            source: &document.source,
            claims: claims
                .map(|claim| ClaimFigures::of(claim, records))
                .collect(),
            together: together(document),
            notes: &document.notes,
        }
    }
}

impl<'a> ClaimFigures<'a> {
    fn of(claim: &'a Claim, records: &Records) -> Self {
        Self {
            name: &claim.name,
            lines: &claim.lines,
            published: &claim.published,
            better: claim.better,
            evidence: &claim.evidence,
            judgement: judge(claim),
            counterpart: claim.measured.as_ref(),
            measured: claim.measured.as_ref().and_then(|like| records.find(like)),
        }
    }
}
