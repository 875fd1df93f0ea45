"""xLSTM: blocks of mLSTM and sLSTM.

Source: Beck et al. (2024), xLSTM, section 2.4. xLSTM[a:b] has a blocks of mLSTM to b of sLSTM;
here every so-many-th block is an sLSTM: with ``every=2`` it is the xLSTM[1:1] with which papers on
formal languages try it. An mLSTM's block has no MLP, an sLSTM's has one.
"""

from __future__ import annotations

from formalbench import Task

from formalbench_models.families.mlstm.model import MlstmMixer
from formalbench_models.families.slstm.config import SlstmConfig
from formalbench_models.families.slstm.model import SlstmMixer
from formalbench_models.families.xlstm.config import XlstmConfig
from formalbench_models.layers.residual import Backbone, Block, Mixer


def build(task: Task, config: XlstmConfig) -> Backbone:
    """Build the network for a task."""
    shared = {name: getattr(config, name) for name in SlstmConfig.model_fields}
    of_slstm, last = SlstmConfig(**shared), max(1, config.layers - 1)
    places = range(config.every - 1, config.layers, config.every)

    def mixer(index: int) -> Mixer:
        return SlstmMixer(of_slstm, index / last) if index in places else MlstmMixer(config)

    without = config.model_copy(update={"feed_forward": 0})
    network = Backbone(task, without, mixer, ("slstm-recurrence", "matrix-memory"))
    for index in places:
        network.blocks[index] = Block(of_slstm, mixer(index))
    return network
