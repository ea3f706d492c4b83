

# How to use it in a loop of your own:
#
#   log = OomLog(run="my-run", seed=seed)
#   for step, batch in enumerate(loader):
#       with log.step(step, batch):
#           ...                                     forward, backward, optimiser
#       if step % 500 == 0:
#           log.event("eval_begin", step)
#           for batch in valid:
#               with log.step(step, batch, phase="eval"):
#                   ...
#           log.event("eval_end", step)
#   log.end()
#
# then: oomreport oomlog-*.jsonl
