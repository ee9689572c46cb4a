ministat -w -3 commas
