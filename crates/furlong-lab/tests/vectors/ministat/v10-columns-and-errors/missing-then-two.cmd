ministat missing two
