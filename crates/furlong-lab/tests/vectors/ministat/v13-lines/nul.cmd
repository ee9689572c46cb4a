ministat -A nul
