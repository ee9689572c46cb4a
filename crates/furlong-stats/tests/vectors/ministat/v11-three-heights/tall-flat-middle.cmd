ministat -w 20 tall flat middle
