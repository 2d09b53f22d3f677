def engine():
    return None
