ministat -w 20 middle tall flat
