ministat -s -w 40 six five
