ministat -w 20 tall middle flat middle tall flat middle
