ministat -A -d , -c 95.0 commas
