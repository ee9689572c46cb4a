# The JSON of `hyperfine --export-json`: furlong export latest | jq -f hyperfine.jq
# A sweep's values are parameters. Exit codes are null where they were not checked.
{ results: [
  .experiments[].workloads[] | . as $workload
  | .arms[] | .name as $name | .summary as $of
  | [.samples.wall_s[]? | values] as $times | select($times != [])
  | { command: $name, mean: $of.wall_s.mean, stddev: $of.wall_s.stddev,
      median: $of.wall_s.median, user: $of.user_s.mean, system: $of.sys_s.mean,
      min: $of.wall_s.min, max: $of.wall_s.max, times: $times,
      memory_usage_byte: [.samples.maxrss_kib[]? | values * 1024],
      exit_codes: [$times[] | if $workload.params.ignore_failure then null else 0 end],
      parameters: ($workload.params.parameters[$name]? // {}) }
] }
