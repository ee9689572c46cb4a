//! The hostile caller of device addresses. Whatever it does, no address is granted twice, no lock
//! stays held, and only the documented extents leak.
#![deny(unsafe_code)]

mod cuts;
mod domain;
mod flushes;
mod space;
mod user;

use furlong_spec::hostile::Ledger;

#[test]
fn a_panic_at_any_call_leaves_a_space_whose_other_extents_are_untouched() {
    let mut ledger = Ledger::new();
    space::interrupt_every_operation(&mut ledger);
    ledger.report(6_000);
}

#[test]
fn a_panic_in_a_cut_frees_nothing_beyond_what_was_to_be_cut_out() {
    let mut ledger = Ledger::new();
    cuts::interrupt_every_cut(&mut ledger);
    ledger.report(6_000);
}

#[test]
fn a_panic_at_any_call_leaves_a_domain_with_no_lock_held() {
    let mut ledger = Ledger::new();
    domain::interrupt_every_operation::<0>(&mut ledger);
    domain::interrupt_every_operation::<1>(&mut ledger);
    domain::interrupt_every_operation::<2>(&mut ledger);
    ledger.report(6_000);
}

#[test]
fn a_flush_that_comes_back_to_its_domain_finds_no_lock_held_and_frees_nothing_early() {
    let mut ledger = Ledger::new();
    flushes::come_back::<0>(&mut ledger);
    flushes::come_back::<1>(&mut ledger);
    flushes::come_back::<2>(&mut ledger);
    flushes::come_back_and_panic::<1>(&mut ledger);
    flushes::come_back_and_panic::<2>(&mut ledger);
    ledger.report(6_000);
}

#[test]
fn a_forgotten_value_costs_its_extent_and_nothing_else() {
    let mut ledger = Ledger::new();
    space::forget_everything(&mut ledger);
    domain::forget_everything::<0>(&mut ledger);
    domain::forget_everything::<1>(&mut ledger);
    domain::forget_everything::<2>(&mut ledger);
    ledger.report(3_000);
}

#[test]
fn lies_lead_to_no_address_that_is_granted_twice() {
    let mut ledger = Ledger::new();
    space::lie_about_gaps(&mut ledger);
    domain::lie_about_everything::<1>(&mut ledger);
    domain::lie_about_everything::<2>(&mut ledger);
    ledger.report(5_000);
}
