load = save = None
