"""Stack-RNN: a recurrent network with stacks, each a superposition of push, no-op and pop."""
