# Welch's t of the second list of times against the first, in a result of hyperfine.
[.results[].times | length as $n | (add / $n) as $mean |
  {$mean, error: (map((. - $mean) * (. - $mean)) | add / ($n - 1) / $n)}] |
(.[1].mean - .[0].mean) / (.[0].error + .[1].error | sqrt)
