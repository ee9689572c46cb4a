ministat -w 20 -s flat middle tall
