/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync.c - tokens of timelines and events, see sync.h
 */
#include "sync.h"

#include "token.h"

PyObject *sync_token(PyObject *self, PyObject *arguments, PyObject *keywords,
	const struct handle_class *class, wait_fn run)
{
	static char *names[] = {"uses", "escrow", "broker", "cancel", NULL};
	struct sync_export call = {.params = WW_INIT(struct ww_token_params)};
	PyObject *where = Py_None, *cancel = NULL;
	struct core *core = core_of(self);
	ww_status status = STATUS_RAISED;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|$O&O&OO:token", names, convert_uses,
		    &call.params.uses, convert_escrow, &call.params.escrow_ns, &where, &cancel))
		return NULL;
	if (where != Py_None &&
		!(call.broker = convert_handle(core, CORE_BROKER, &broker_class, where)))
		return NULL;
	call.object = handle_borrow(self, class);
	if (call.object)
		status = wait_run(core, run, &call, 0, cancel);
	if (status != WW_OK)
		error_raise(core, status);
	handle_return(class, call.object);
	handle_return(&broker_class, call.broker);
	return status == WW_OK ? token_object(core, &call.token) : NULL;
}

const char sync_token_doc[] =
	"token($self, /, *, uses=0, escrow=60.0, broker=None, cancel=None)\n--\n\n"
	"A token: plain bytes by which any process can open this object.\n\n"
	"Parameters\n----------\n"
	"uses : int\n"
	"    Imports after which the token's escrow ends; 0: only its time ends it.\n"
	"escrow : float or None\n"
	"    Seconds for which the broker keeps its entry for the token alone; None: not at all.\n"
	"broker : Broker, optional\n\n"
	"Returns\n-------\nToken";
