ministat -A text
