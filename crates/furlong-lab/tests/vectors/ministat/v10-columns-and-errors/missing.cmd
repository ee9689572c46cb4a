ministat missing
