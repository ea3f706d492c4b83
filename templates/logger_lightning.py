

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:
    from pytorch_lightning.callbacks import Callback


class OomLogCallback(Callback):
    """Trainer(callbacks=[OomLogCallback(run="my-run", seed=seed)]); then: oomreport oomlog-*.jsonl"""

    def __init__(self, **settings):
        super().__init__()
        self.settings, self.log, self.now = settings, None, None

    def setup(self, trainer, pl_module, stage=None):
        if self.log is None:
            self.log = OomLog(**{"rank": trainer.global_rank, "world_size": trainer.world_size,
                                 "grad_accum": trainer.accumulate_grad_batches, **self.settings})

    def _begin(self, trainer, batch, phase):
        # global_step counts what is done: the step at hand is the one after it, also while it is evaluated
        self.now = (trainer.global_step, shape_of(batch), phase, trainer.current_epoch)

    def _end(self):
        if self.now is not None:
            self.log.record(*self.now)
        self.now = None

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        self._begin(trainer, batch, "train")

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self._end()

    def on_validation_batch_start(self, trainer, pl_module, batch, batch_idx, dataloader_idx=0):
        self._begin(trainer, batch, "eval")

    def on_validation_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, dataloader_idx=0):
        self._end()

    def on_validation_start(self, trainer, pl_module):
        self.log.event("eval_begin", trainer.global_step)

    def on_validation_end(self, trainer, pl_module):
        self.log.event("eval_end", trainer.global_step)

    def on_train_epoch_end(self, trainer, pl_module):
        self.log.event("epoch_end", trainer.global_step, trainer.current_epoch)

    def on_save_checkpoint(self, trainer, pl_module, checkpoint):
        self.log.event("save", trainer.global_step)

    def on_exception(self, trainer, pl_module, exception):
        if _is_oom(exception):
            self.log.oom(exception, *(self.now or (trainer.global_step, None, "train", trainer.current_epoch)))

    def teardown(self, trainer, pl_module, stage=None):
        if self.log is not None and not trainer.interrupted:
            self.log.end()
            self.log = None
