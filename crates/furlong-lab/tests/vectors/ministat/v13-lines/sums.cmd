ministat -A sums
