# Spread (the standard deviation in per cent of the mean) of each arm, and the difference of its mean
# from the baseline's, in columns between tabs: furlong export latest | jq -rf spreads.jq
def percent(digits): . * pow(10; digits) | round / pow(10; digits) | "\(.)%";
.experiments[] | .metric_order as $names
| .workloads[] | .arms[0].summary as $of
| first($names[] | select($of[.])) as $metric | $of[$metric].mean as $base
| [.name, $metric, (.arms | to_entries[] | .key as $place | .value.name as $name
    | .value.summary[$metric] | values
    | "\($name) \(.cv_pct | if . == null then "-" else percent(2) end)",
      if $place == 0 then empty
      else 100 * (.mean / $base - 1) | (if . < 0 then "" else "+" end) + percent(1) end)]
| @tsv
