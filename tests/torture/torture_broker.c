/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torture_broker.c - see torture_broker.h
 */
#include "torture/torture_broker.h"

#include <stdlib.h>

#include "support/broker.h"
#include "support/check.h"
#include "support/raw_client.h"

const char *scenario_address;
struct child torture_partner;

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

void torture_partner_start(void)
{
	MUST_CALL(setenv("WARPWAY_BROKER", scenario_address, 1));
	child_start(&torture_partner, "partner", NULL);
	child_hear(&torture_partner, "ready");
	unsetenv("WARPWAY_BROKER");
}

void torture_partner_stop(void)
{
	child_tell(&torture_partner, "stop");
	child_finish(&torture_partner);
}

void torture_partner_open(void)
{
	torture_broker_start();
	torture_partner_start();
	torture_broker_watch();
}

void torture_partner_close(void)
{
	torture_partner_stop();
	torture_broker_stop();
}
