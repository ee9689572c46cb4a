ministat -A -c 97 commas
