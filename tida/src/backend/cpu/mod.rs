//! Native kernels on the threads of this machine.
