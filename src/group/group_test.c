/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_test.c - what is found of a member: by the broker's answer, and by what the member shows
 */
#include "client/fake_broker.h"

#include <fcntl.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "client/request.h"
#include "device/shared_page.h"
#include "group/group.h"
#include "sync/wait_result.h"
#include "wire/sync_description.h"

#define STRANGER 61002

/* What the broker grants: a member as it should be, until a test changes it. */
static struct {
	struct ww_wire_granted granted;
	uint32_t version; /* that the broker speaks; 0: 1 */
	struct ww_mapping *mapping;
	struct ww_layout_signal_page *page;
	int fds[2]; /* the page; a pipe in place of a pidfd */
	size_t fd_count;
	ww_status refusal;
	bool is_taken_out;
} shown;

static int show_member(void **state)
{
	struct ww_wire_timeline_ref ref = {.page_bytes = WW_SIGNAL_PAGE_BYTES, .page_id = "page"};
	int ends[2];

	(void)state;
	memset(&shown, 0, sizeof(shown));
	shown.granted = (struct ww_wire_granted){
		.id = "member",
		.kind = WW_WIRE_KIND_WORK_QUEUE,
		.access = WW_WIRE_ACCESS_READ,
		.state = WW_WIRE_STATE_SHARED,
		.uid = STRANGER,
		.description_bytes = WW_TIMELINE_REF_BYTES,
	};
	ww_timeline_ref_write(&ref, shown.granted.description);
	assert_ok(ww_shared_page_create(WW_SIGNAL_PAGE_BYTES, &shown.mapping));
	shown.page = shown.mapping->host_pointer;
	ww_signal_page_init(shown.page, WW_SIGNAL_PAGE_BYTES, ref.page_id, 1, STRANGER, "member");
	assert_ok(ww_mapping_export(shown.mapping, WW_ACCESS_READ, &shown.fds[0]));
	assert_return_code(pipe(ends), errno);
	close(ends[1]); /* so the other end can be read, as a pidfd whose process has ended */
	shown.fds[1] = ends[0];
	shown.fd_count = 2;
	return 0;
}

static int hide_member(void **state)
{
	(void)state;
	close(shown.fds[0]);
	close(shown.fds[1]);
	ww_mapping_unref(shown.mapping);
	return 0;
}

static ww_status open_member(void *context, struct ww_group_member *member,
	const struct ww_get_reply *grant)
{
	const struct ww_wire_granted *granted = &grant->granted;
	struct ww_wire_timeline_ref ref;

	(void)context;
	ww_try(ww_timeline_ref_read(granted->description, granted->description_bytes, &ref));
	return ww_group_member_map(member, grant, ref.page_bytes, ref.page_id);
}

static const struct ww_group_kind kind = {
	.kind = WW_OBJECT_WORK_QUEUE,
	.access = WW_WIRE_ACCESS_READ,
	.fd_count = 1,
	.has_pidfd = true,
	.open = open_member,
};

static void answer(struct stand_in *self)
{
	uint32_t version = shown.version ? shown.version : 1;
	uint32_t serial;
	int peer;

	self->version = version;
	peer = stand_in_accept(self);
	serial = stand_in_take_serial(peer, WW_WIRE_GET);
	if (shown.refusal) {
		stand_in_refuse(peer, serial, shown.refusal, "no");
	} else {
		stand_in_send_as(peer, version, granted, &shown.granted, serial, shown.fds,
			shown.fd_count);
		(void)stand_in_take_serial(peer, WW_WIRE_RELEASE);
	}
	stand_in_finish_peer(peer);
}

/* As ww_group_get() says it; the hold is given back, and so is what was mapped. */
static ww_status find(struct ww_group_member *member)
{
	struct stand_in self;
	ww_broker *broker;
	ww_status status;

	stand_in_start(&self, answer);
	broker = stand_in_open(&self, 0);
	status = ww_group_get(&kind, broker, "m", NULL, member);
	ww_broker_unref(broker);
	if (status != WW_OK) {
		ww_group_member_fini(member);
		stand_in_finish(&self);
	}
	return status;
}

UNIT_TEST(member)
{
	struct ww_group_member member = {.uid = 0};
	struct stand_in self;
	ww_broker *broker;

	show_member(NULL);
	stand_in_start(&self, answer);
	broker = stand_in_open(&self, 0);
	assert_ok(ww_group_get(&kind, broker, "m", NULL, &member));
	assert_memory_equal(member.id, shown.granted.id, sizeof(member.id));
	assert_int_equal(member.uid, STRANGER);
	assert_non_null(member.page);
	assert_false(ww_group_member_has_ended(&member));
	assert_true(ww_peer_process_ask(member.process));
	assert_true(ww_group_member_has_ended(&member));
	ww_group_member_fini(&member);
	ww_broker_unref(broker);
	stand_in_finish(&self);
	hide_member(NULL);
}

/* The broker's answer decides: what is not about the member is to be asked again. */
UNIT_TEST(answers)
{
	static const ww_status answers[][2] = {
		{WW_ERR_NOT_FOUND, WW_ERR_NOT_FOUND},
		{WW_ERR_PEER_LOST, WW_ERR_NOT_FOUND},
		{WW_ERR_ACCESS, WW_ERR_PROTOCOL},
		{WW_ERR_STATE, WW_ERR_PROTOCOL},
		{WW_ERR_UNSUPPORTED, WW_ERR_PROTOCOL},
		{WW_ERR_DESCRIPTOR, WW_ERR_PROTOCOL},
		{WW_ERR_PROTOCOL, WW_ERR_NO_BROKER},
		{WW_ERR_VERSION, WW_ERR_NO_BROKER},
		{WW_ERR_LIMIT, WW_ERR_LIMIT},
	};

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct ww_group_member member = {.uid = 0};

		show_member(NULL);
		shown.refusal = answers[i][0];
		assert_int_equal(find(&member), answers[i][1]);
		hide_member(NULL);
	}
}

static void other_id(void)
{
	shown.granted.id[0] ^= 1;
}

static void other_kind(void)
{
	shown.granted.kind = WW_WIRE_KIND_CHANNEL;
}

static void no_page(void)
{
	shown.fd_count = 0;
}

static void no_memory(void)
{
	close(shown.fds[0]);
	shown.fds[0] = open("/dev/null", O_RDWR | O_CLOEXEC);
}

static void no_description(void)
{
	shown.granted.description_bytes = 0;
}

static void other_size(void)
{
	struct ww_wire_timeline_ref ref = {.page_bytes = WW_SIGNAL_PAGE_BYTES * 2,
		.page_id = "page"};

	ww_timeline_ref_write(&ref, shown.granted.description);
}

static void no_magic(void)
{
	shown.page->magic[0] ^= 1;
}

static void no_cells(void)
{
	shown.page->cell_count = 0;
}

static void newer_page(void)
{
	shown.page->version++;
}

/* Also on each of them nothing is kept: neither a hold nor a mapping nor a descriptor. */
UNIT_TEST(contents)
{
	static const struct {
		void (*change)(void);
		ww_status expected;
	} contents[] = {
		{other_kind, WW_ERR_PROTOCOL},
		{no_page, WW_ERR_PROTOCOL},
		{no_memory, WW_ERR_PROTOCOL},
		{no_description, WW_ERR_PROTOCOL},
		{other_size, WW_ERR_PROTOCOL},
		{no_magic, WW_ERR_PROTOCOL},
		{no_cells, WW_ERR_PROTOCOL},
		{newer_page, WW_ERR_VERSION},
	};
	int lowest = dup(0);

	close(lowest);
	for (size_t i = 0; i < sizeof(contents) / sizeof(contents[0]); i++) {
		struct ww_group_member member = {.uid = 0};

		show_member(NULL);
		contents[i].change();
		if (find(&member) != contents[i].expected)
			fail_msg("change %zu: %s", i, ww_error_last()->message);
		assert_null(member.page);
		assert_null(member.process);
		hide_member(NULL);
	}
	assert_int_equal(dup(0), lowest);
	close(lowest);
}

/* --- one member that the broker has listed --- */

static void answer_each(struct stand_in *self)
{
	int peer = stand_in_accept(self);

	for (int i = 0; i < 3; i++) {
		uint32_t serial = stand_in_take_serial(peer, WW_WIRE_GET);

		stand_in_send(peer, granted, &shown.granted, serial, shown.fds, shown.fd_count);
		(void)stand_in_take_serial(peer, WW_WIRE_RELEASE);
	}
	stand_in_finish_peer(peer);
}

/* What cannot be one is not asked for. What has the name since is not the one that was listed. */
CLIENT_TEST(listed, answer_each)
{
	static const struct {
		struct ww_object_info info;
		void (*change)(void);
		ww_status expected;
	} lists[] = {
		{{.kind = WW_OBJECT_CHANNEL, .fd_count = 2}, NULL, WW_ERR_PROTOCOL},
		{{.kind = WW_OBJECT_WORK_QUEUE, .fd_count = 0}, NULL, WW_ERR_PROTOCOL},
		{{.kind = WW_OBJECT_WORK_QUEUE, .fd_count = 1}, NULL, WW_OK},
		{{.kind = WW_OBJECT_WORK_QUEUE, .fd_count = 1}, other_id, WW_ERR_NOT_FOUND},
		{{.kind = WW_OBJECT_WORK_QUEUE, .fd_count = 1}, other_kind, WW_ERR_PROTOCOL},
	};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct ww_group_member member = {.uid = 0};
		struct ww_object_info info = lists[i].info;

		show_member(NULL);
		if (lists[i].change)
			lists[i].change();
		info.gid = STRANGER + 1;
		info.pid = STRANGER + 2;
		memcpy(info.object_id, "member", sizeof("member"));
		strcpy(info.name, "m");
		assert_int_equal(ww_group_get_listed(&kind, broker, &info, NULL, &member),
			lists[i].expected);
		if (lists[i].expected == WW_OK) {
			assert_int_equal(member.gid, info.gid);
			assert_int_equal(member.pid, info.pid);
		}
		ww_group_member_fini(&member);
		hide_member(NULL);
	}
}

/*
 * Whom messages blame: the process that the broker names, whatever the page says. The page is
 * believed if its process is of the own user and the broker does not name it.
 */
UNIT_TEST(creators)
{
	static const struct {
		uint32_t version;
		uint32_t listed;
		bool is_own_user;
		uint32_t pid;
		char program[32];
		const char *expected;
	} creators[] = {
		{8, 0, false, 12, "client", "process 12 (client)"},
		{8, 0, false, 12, "cl\x1b[m", "process 12 (cl?[m)"},
		{8, 0, false, 12, "", "process 12"},
		{8, 0, false, 0, "client", "a process of user 61002"},
		{7, 0, false, 12, "client", "a process of user 61002"},
		{7, 13, false, 12, "client", "process 13"},
		{8, 0, true, 12, "client", "process 12 (client)"},
		{7, 0, true, 12, "client", "process 2147483648 (p?ge)"},
	};
	const struct ww_signal_look look = {.state = WW_WIRE_CELL_STATE_LOST};

	for (size_t i = 0; i < sizeof(creators) / sizeof(creators[0]); i++) {
		struct ww_group_member member = {.pid = creators[i].listed};
		char process[WW_WAIT_RESULT_PROCESS_BYTES];
		char expected[128];
		struct stand_in self;
		ww_broker *broker;

		show_member(NULL);
		shown.version = creators[i].version;
		shown.granted.pid = creators[i].pid;
		memcpy(shown.granted.program, creators[i].program, 32);
		if (creators[i].is_own_user)
			shown.granted.uid = geteuid();
		shown.page->pid = UINT32_C(1) << 31;
		memcpy(shown.page->program, "p\age", 5);
		ww_signal_page_poison(shown.page, WW_SIGNAL_PAGE_BYTES, 99, "victim", false);
		stand_in_start(&self, answer);
		broker = stand_in_open(&self, 0);
		assert_ok(ww_group_get(&kind, broker, "m", NULL, &member));
		assert_string_equal(ww_wait_result_process(member.page, process),
			creators[i].expected);
		assert_int_equal(ww_wait_result_fail(member.page, &look, 5), WW_ERR_PEER_LOST);
		snprintf(expected, sizeof(expected),
			"value 5 will not come: %s, which signalled this timeline, ended",
			creators[i].expected);
		assert_non_null(strstr(ww_error_last()->message, expected));
		ww_group_member_fini(&member);
		ww_broker_unref(broker);
		stand_in_finish(&self);
		hide_member(NULL);
	}
}

/* A hostile member that shows the own page of this process is not taken for this process. */
static void show_own_page(struct ww_signal_map *own)
{
	struct ww_wire_timeline_ref ref = {.page_bytes = own->cpu->bytes};

	memcpy(ref.page_id, own->id, sizeof(ref.page_id));
	ww_timeline_ref_write(&ref, shown.granted.description);
	close(shown.fds[0]);
	assert_ok(ww_mapping_export(own->cpu, WW_ACCESS_READ, &shown.fds[0]));
}

UNIT_TEST_WITH(own_page_of_a_stranger, show_member, hide_member)
{
	struct ww_group_member member = {.uid = 0};
	char process[WW_WAIT_RESULT_PROCESS_BYTES];
	struct ww_signal_map *own;
	uint64_t offset;

	assert_ok(ww_signal_map_take_cell(true, &own, &offset));
	show_own_page(own);
	shown.version = 8;
	shown.granted.pid = 12;
	memcpy(shown.granted.program, "hostile", sizeof("hostile"));
	assert_ok(find(&member));
	assert_string_equal(ww_wait_result_process(member.page, process), "process 12 (hostile)");
	ww_group_member_fini(&member);
	ww_signal_map_unref(own);
}

/* --- those of one object --- */

/* A listing with one object, "m"; then a removal, if one comes. */
static void list(struct stand_in *self)
{
	const struct ww_wire_entry entry = {
		.id = "member",
		.kind = WW_WIRE_KIND_WORK_QUEUE,
		.uid = STRANGER,
		.holders = 2,
		.fd_count = 2,
		.name = "m",
	};
	const struct ww_wire_listing listing = {.entries = {.count = 1, .items = &entry}};
	static struct stand_in_packet packet;
	int peer;

	self->version = 6; /* that removes by id */
	peer = stand_in_accept(self);
	stand_in_send(peer, listing, &listing, stand_in_take_serial(peer, WW_WIRE_LIST), NULL, 0);
	stand_in_wait(peer);
	if (shown.is_taken_out) {
		struct ww_wire_remove removed;

		stand_in_take(peer, WW_WIRE_REMOVE, &packet);
		ww_assert(ww_wire_decode_remove(packet.bytes, packet.count, 6, &removed) == WW_OK);
		ww_assert(memcmp(removed.id, entry.id, sizeof(entry.id)) == 0);
		stand_in_done(peer, packet.header.serial);
	}
	stand_in_finish_peer(peer);
}

static ww_status found;

static ww_status meet(void *context, const struct ww_object_info *info)
{
	(void)context;
	assert_string_equal(info->name, "m");
	return ww_fail(found, "so it is");
}

/* Only what is forged or refused is taken out, of another user, by who has put the outer object. */
static void look(ww_status outcome, bool is_owner, bool is_taken_out)
{
	struct ww_group group;
	ww_snapshot *snapshot;
	struct stand_in self;
	ww_broker *broker;
	ww_status status;

	found = outcome;
	shown.is_taken_out = is_taken_out;
	ww_group_init(&group);
	stand_in_start(&self, list);
	broker = stand_in_open(&self, 0);
	assert_ok(ww_snapshot_create(broker, NULL, WW_SNAPSHOT_OBJECTS, &snapshot));
	status = ww_group_look(&group, snapshot, is_owner ? broker : NULL, meet, NULL);
	assert_int_equal(status, ww_group_is_no_member(outcome) ? WW_OK : outcome);
	ww_snapshot_free(snapshot);
	ww_broker_unref(broker);
	stand_in_finish(&self);
}

UNIT_TEST(looks)
{
	look(WW_ERR_PROTOCOL, true, true);
	look(WW_ERR_VERSION, true, true);
	look(WW_ERR_PROTOCOL, false, false);
	look(WW_ERR_NOT_FOUND, true, false);
	look(WW_ERR_LIMIT, true, false);
}

static int looks_taken;

static ww_status look_once(void *context)
{
	looks_taken++;
	return *(ww_status *)context;
}

/* A broker that did not answer is asked again later; nothing is recorded of that. */
UNIT_TEST(newcomers)
{
	struct ww_group_newcomers newcomers = {.seen = 0};
	ww_status status = WW_ERR_NO_BROKER;

	assert_false(ww_group_may_meet(&newcomers, 0));
	assert_ok(ww_group_meet(&newcomers, 0, look_once, &status));
	assert_int_equal(looks_taken, 0);
	assert_int_equal(ww_group_meet(&newcomers, 1, look_once, &status), WW_NOT_READY);
	newcomers.ask_again_ns = WW_NEVER;
	assert_int_equal(ww_group_meet(&newcomers, 1, look_once, &status), WW_NOT_READY);
	assert_false(ww_group_may_meet(&newcomers, 1));
	assert_int_equal(looks_taken, 1);
	newcomers.ask_again_ns = 0;
	status = WW_ERR_LIMIT;
	assert_int_equal(ww_group_meet(&newcomers, 1, look_once, &status), WW_ERR_LIMIT);
	assert_true(ww_group_may_meet(&newcomers, 1));
	status = WW_OK;
	assert_ok(ww_group_meet(&newcomers, 1, look_once, &status));
	assert_false(ww_group_may_meet(&newcomers, 1));
	assert_int_equal(looks_taken, 3);
}

static ww_status look_for_member(void *broker)
{
	struct ww_group_member member = {.uid = 0};
	ww_status status = ww_group_get(&kind, broker, "m", NULL, &member);

	ww_group_member_fini(&member);
	return status;
}

/* With what no broker sends; not at all; as it should be. */
static void answer_at_last(struct stand_in *self)
{
	int hanging = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int peer = stand_in_accept(self);

	ww_assert(hanging >= 0);
	stand_in_send(peer, granted, &shown.granted, stand_in_take_serial(peer, WW_WIRE_GET),
		&hanging, 1);
	close(hanging);
	(void)stand_in_take_serial(peer, WW_WIRE_RELEASE);
	(void)stand_in_take_serial(peer, WW_WIRE_GET);
	stand_in_send(peer, granted, &shown.granted, stand_in_take_serial(peer, WW_WIRE_GET),
		shown.fds, shown.fd_count);
	(void)stand_in_take_serial(peer, WW_WIRE_RELEASE);
	stand_in_finish_peer(peer);
}

static ww_status meet_member(struct ww_group_newcomers *newcomers, ww_broker *broker)
{
	return ww_group_meet(newcomers, 1, look_for_member, broker);
}

/* Without an answer nothing is known of a member, and the broker is asked again after a pause. */
CLIENT_TEST(silence, answer_at_last)
{
	struct ww_group_newcomers newcomers = {.seen = 0};

	show_member(NULL);
	{
		WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(ww_cancel_nowait());

		assert_int_equal(meet_member(&newcomers, broker), WW_CANCELLED);
	}
	ww_fail(WW_ERR_MISMATCH, "recorded before");
	for (int i = 0; i < 2; i++) {
		WW_AUTO_REQUEST_LIMIT uint64_t former_ns = ww_request_limit();
		uint64_t before_ns = ww_clock_now_ns();

		assert_true(ww_group_may_meet(&newcomers, 1));
		ww_request_limit_all(i == 0 ? WW_NEVER : before_ns);
		assert_int_equal(meet_member(&newcomers, broker), WW_NOT_READY);
		assert_in_range(newcomers.ask_again_ns, before_ns + WW_GROUP_PAUSE_NS,
			ww_clock_now_ns() + WW_GROUP_PAUSE_NS);
		newcomers.ask_again_ns = before_ns; /* the pause is over */
	}
	assert_string_equal(ww_error_last()->message, "recorded before");
	assert_ok(meet_member(&newcomers, broker));
	assert_ok(meet_member(&newcomers, broker));
	hide_member(NULL);
}

UNIT_MAIN("group")
