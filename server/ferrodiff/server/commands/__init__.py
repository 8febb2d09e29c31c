"""One module per subcommand: `configure(parser)` and `run(options) -> exit code`."""
