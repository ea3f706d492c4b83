

from transformers import TrainerCallback


class OomLogCallback(TrainerCallback):
    """trainer = Trainer(..., callbacks=[...]); OomLogCallback(run="my-run", seed=seed).attach(trainer);
    trainer.train(); then: oomreport oomlog-*.jsonl"""

    def __init__(self, **settings):
        self.settings, self.log, self.trainer = settings, None, None
        self.shape, self.last, self.phase = None, None, "train"

    def attach(self, trainer):
        """Callbacks are not given the batch: the two methods that see it are wrapped."""
        self.trainer, args = trainer, trainer.args
        self.log = OomLog(**{"seed": args.seed, "rank": args.process_index, "world_size": args.world_size,
                             "grad_accum": args.gradient_accumulation_steps, **self.settings})
        trainer.training_step = self._wrapped(trainer.training_step, "train")
        trainer.prediction_step = self._wrapped(trainer.prediction_step, "eval")
        trainer.train = self._guarded(trainer.train)
        trainer.evaluate = self._guarded(trainer.evaluate)
        trainer.add_callback(self)
        return trainer

    def _where(self, shape):
        state = self.trainer.state
        return state.global_step + (self.phase == "train"), shape, self.phase, state.epoch

    def _wrapped(self, method, phase):
        def call(model, inputs, *args, **kw):
            if phase == "eval" and self.phase == "train":
                self.log.event("eval_begin", self.trainer.state.global_step)
                self.shape = None
            self.phase, self.last = phase, shape_of(inputs)
            size = lambda s: (s or {}).get("tokens", (s or {}).get("batch_size", 0))
            if self.shape is None or size(self.last) > size(self.shape):
                self.shape = self.last  # of several micro-batches the largest
            out = method(model, inputs, *args, **kw)
            if phase == "eval":
                self.log.record(*self._where(self.last))
            return out
        return call

    def _guarded(self, method):
        def call(*args, **kw):
            try:
                return method(*args, **kw)
            except BaseException as error:
                if _is_oom(error):
                    self.log.oom(error, *self._where(self.last))
                raise
        return call

    def on_step_end(self, args, state, control, **kw):
        self.log.record(state.global_step, self.shape, "train", state.epoch)
        self.shape, self.phase = None, "train"

    def on_evaluate(self, args, state, control, **kw):
        self.log.event("eval_end", state.global_step)
        self.shape, self.phase = None, "train"

    def on_epoch_end(self, args, state, control, **kw):
        self.log.event("epoch_end", state.global_step, state.epoch)

    def on_save(self, args, state, control, **kw):
        self.log.event("save", state.global_step)

    def on_train_end(self, args, state, control, **kw):
        self.log.end()
