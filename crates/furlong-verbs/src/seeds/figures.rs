//! The documents' figures for programs: `furlong.seeds/1`. Fields may be added, never renamed
//! within /1.

use serde::Serialize;

use super::document::{Claim, Document};
use super::judgement::{Judgement, MARGIN_PCT, judge, together};
use super::measured::{Measured, Records};

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
    #[serde(flatten)]
    claim: &'a Claim,
    judgement: Judgement,
    measured: Option<Measured>,
}

/// The figures of all documents.
pub fn figures<'a>(documents: &'a [Document], records: &Records) -> impl Serialize + use<'a> {
    let claim = |claim: &'a Claim| ClaimFigures {
        judgement: judge(claim),
        measured: claim.measured.as_ref().and_then(|like| records.find(like)),
        claim,
    };
    let document = |document: &'a Document| DocumentFigures {
        system: &document.system,
        title: &document.title,
        source: &document.source,
        claims: document.claims.iter().map(claim).collect(),
        together: together(document),
        notes: &document.notes,
    };
    Shelf {
        schema: "furlong.seeds/1",
        margin_pct: MARGIN_PCT,
        documents: documents.iter().map(document).collect(),
    }
}
