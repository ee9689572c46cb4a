ministat -w 74 five five-again
