def run(binary, folder):
    return True
