ministat commas -d , -w 30
