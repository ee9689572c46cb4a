# GNU time's two lines for every run and for the mean of the runs, the usual report of kernel builds:
# furlong export latest | jq -rf gnu-time.jq
# As GNU time, it cuts digits off and computes the CPU share from whole milliseconds.
def two: tostring | if length < 2 then "0" + . else . end;
def ms: (. * 1e9 | round) / 1e6 | floor;
def seconds: ms | "\(. / 1000 | floor).\(. % 1000 / 10 | floor | two)";
def clock: ms | (. / 60000 | floor) as $minutes | (. / 1000 | floor % 60 | two) as $seconds
  | if $minutes >= 60 then "\($minutes / 60 | floor):\($minutes % 60 | two):\($seconds)"
    else "\($minutes):\($seconds).\(. % 1000 / 10 | floor | two)" end;
def lines: (.wall_s | ms) as $wall
  | (if $wall == 0 then "?" else ((.user_s | ms) + (.sys_s | ms)) * 100 / $wall | floor end) as $cpu
  | "\(.user_s | seconds)user \(.sys_s | seconds)system \(.wall_s | clock)elapsed "
    + "\($cpu)%CPU (0avgtext+0avgdata \(.maxrss_kib | round)maxresident)k",
    "\(.fs_inputs | round)inputs+\(.fs_outputs | round)outputs "
    + "(\(.major_faults | round)major+\(.minor_faults | round)minor)pagefaults 0swaps";
.experiments[].workloads[].arms[] | .name as $name | .samples as $samples
| ["user_s", "sys_s", "wall_s", "maxrss_kib", "fs_inputs", "fs_outputs", "major_faults",
   "minor_faults"] as $fields
| [range($samples.wall_s // [] | length) as $run
    | [$fields[] | {(.): $samples[.][$run]}] | add] as $all
| [$all[] | select(all(. != null))] as $runs
| "\($name):\n", ($all[] | if all(. != null) then lines else "a run failed" end),
  if $runs == [] then empty
  else "\nmean of \($runs | length) runs:",
    ([$fields[] as $field | {($field): ([$runs[][$field]] | add / length)}] | add | lines) end, ""
