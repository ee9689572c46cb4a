ministat -q -d , commas
