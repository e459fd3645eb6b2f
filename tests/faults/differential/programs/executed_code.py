"""exec, eval and compiled code without a file."""

source = """
class Env:
    def reset(self): return 0
    def step(self, action): return action, 0.0, False, {}
env = Env()
env.reset()
total = sum(env.step(n)[0] for n in range(40))
"""
names = {}
exec(compile(source, "<made>", "exec"), names)
print(names["total"], eval("names['env'].step(3)"), names["Env"].step.__code__.co_filename)
try:
    exec("1 / 0")
except ZeroDivisionError as error:
    print(error, error.__traceback__.tb_next.tb_frame.f_code.co_filename)
