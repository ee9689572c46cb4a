ministat -A -d , commas
