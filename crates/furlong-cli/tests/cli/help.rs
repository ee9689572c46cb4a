//! The examples of `--help`.

/// The examples of a command and of its subcommands, in their order.
pub(crate) fn examples(command: &clap::Command) -> Vec<String> {
    let help = command.get_after_help().map(ToString::to_string);
    let help = help.unwrap_or_default();
    let lines = help.lines().filter_map(|line| line.strip_prefix("  "));
    let own = lines.filter(|line| line.starts_with("furlong "));
    // Some examples have an explanation, several blanks behind them.
    let own = own.filter_map(|line| line.split("   ").next());
    let mut all: Vec<String> = own.map(str::to_owned).collect();
    all.extend(command.get_subcommands().flat_map(examples));
    all
}

/// True if an example needs a fleet.
pub(crate) fn is_of_a_fleet(example: &str) -> bool {
    example.contains("slurm") || example.starts_with("furlong collect")
}
