# SPDX-License-Identifier: Apache-2.0
# What Timeline and Event have in common: tokens.

cdef struct Export:
    void *object # a ww_timeline or ww_event; borrowed
    ww_broker *broker # borrowed; NULL: the default one
    uint32_t access # of a service
    ww_token_params params
    ww_token token


cdef object make_token(object self, const handle_class *kind, wait_fn run, uses, escrow, broker, cancel,
                       uint32_t access=0):
    """A token of a handle. `run` exports; its call is an Export."""
    cdef Export call
    memset(&call, 0, sizeof(call))
    call.access = access
    CLEAR(call.params)
    convert_uses(uses, &call.params.uses)
    convert_escrow(escrow, &call.params.escrow_ns)
    if broker is not None:
        call.broker = <ww_broker *>convert_handle(python_core, CORE_BROKER, &broker_class, broker)
    try:
        call.object = handle_borrow(self, kind)
        check(wait_run(python_core, run, &call, 0, <PyObject *>cancel))
    finally:
        handle_return(kind, call.object)
        handle_return(&broker_class, call.broker)
    return token_object(python_core, &call.token)
