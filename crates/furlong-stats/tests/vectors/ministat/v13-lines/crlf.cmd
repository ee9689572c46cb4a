ministat -w 40 crlf
