/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torture_broker.c - see torture_broker.h
 */
#include "torture/torture_broker.h"

#include "support/broker.h"
#include "support/check.h"
#include "support/raw_client.h"

static struct broker server;
static struct raw observer;
static struct ww_wire_condition idle; /* how the broker is between two runs */

void torture_broker_start(void)
{
	if (server.group)
		broker_kill(&server);
	broker_start(&server, NULL);
	scenario_address = server.address;
}

void torture_broker_watch(void)
{
	raw_open(&observer, server.address);
	MUST_OK(raw_condition(&observer, &idle));
}

void torture_broker_open(void)
{
	torture_broker_start();
	torture_broker_watch();
}

void torture_broker_must_be_idle(void)
{
	raw_must_settle(&observer, &idle);
}

void torture_broker_stop(void)
{
	raw_close(&observer);
	broker_stop(&server);
}
