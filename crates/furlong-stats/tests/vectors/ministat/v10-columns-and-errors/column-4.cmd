ministat -A -C 4 table
