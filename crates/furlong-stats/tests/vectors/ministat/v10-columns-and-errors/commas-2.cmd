ministat -A -d , -C 2 commas
