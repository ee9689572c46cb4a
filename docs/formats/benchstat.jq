# Lines for `benchstat -col arm`: furlong export latest | jq -rf benchstat.jq
# Every run is a line. An exact metric has one value, which stands for every run.
def unit: if . == "wall_s" then "sec/op" else sub("_s$"; "-sec/op") | gsub("\\s+"; "-") end;
"cpu: \(.run.machine.cpu)", "run: \(.run.id)",
(.experiments[] | .metrics as $metrics | .metric_order as $names
  | "pkg: \(.name)",
    ($names[] | "Unit \(unit) better=\($metrics[.].better)"
      + if $metrics[.].kind == "exact" then " assume=exact" else "" end),
    (.workloads[] | ("Benchmark" + (.name[:1] | ascii_upcase) + .name[1:]
        | gsub(","; "/") | gsub("\\s"; "_")) as $benchmark
      | (.params.operations // 1) as $operations
      | .arms[] | .samples as $samples | select($samples != {})
      | "", "arm: \(.name)",
        (range([$samples[] | length] | max) as $run
          | [$names[] | . as $name
              | $samples[$name][if $metrics[$name].kind == "exact" then 0 else $run end]?
              | values | "\(.) \($name | unit)"]
          | select(. != []) | "\($benchmark)\t\($operations)\t" + join("\t"))))
