/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen.c - the tables on a terminal, and the keys, see top.h
 *
 * Three lines say how the broker is, one names the columns, the last one says which keys there are.
 * A selected row is marked by '>' too, so that it is seen without colours and attributes.
 */
#include <locale.h>
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "common/child_link.h"
#include "common/interrupt.h"
#include "common/say.h"
#include "top/top.h"

#define NS_PER_MS    UINT64_C(1000000)
#define ABOVE        (TOP_HEAD + 1) /* lines */
#define INTERVAL_MIN (100 * NS_PER_MS)
#define INTERVAL_MAX (60000 * NS_PER_MS)
#define KEY_ESCAPE   27

static const char *const help_lines[] = {
	"1 2 3 4 5, Tab  objects, processes, users, devices, requests",
	"Up, Down        select a row",
	"Page Down, n    the next page; Page Up, p: the one before; Home, g: the first",
	"Enter           the selected object: why its memory is not freed; for a work",
	"                queue also its members and frames",
	"s, S            sort by the next column, by the one before; r: reversed",
	"/               objects whose names begin so; elsewhere rows that contain it",
	"k               objects of the next kind, such as channels",
	"o               only your own, or all users'",
	"+ -             refresh more often, less often; Space: at once",
	"h, ?            this text; any key leaves it",
	"q               end",
	"",
	"HELD: processes that hold an object. TOK: its tokens in flight.",
	"RATE/s: frames published in a channel or work queue, calls of a service,",
	"if you may read it.",
	"Objects and processes come in order of bytes, page by page; sorting orders",
	"the rows of one page.",
};

enum screen_mode {
	SCREEN_TABLE,
	SCREEN_DETAIL,
	SCREEN_HELP,
	SCREEN_FILTER
};

struct screen {
	const char *address;
	ww_broker **broker;
	struct wish *wish;
	struct view *names;
	uint64_t interval_ns;
	enum screen_mode mode;
	uint32_t selected;
	uint32_t first; /* row at the top, of views that are not in pages */
	struct sample now, before;
	struct rows rows;
	char typed[TOP_WORD];
	struct ww_object_info detail;
	bool is_ending;
};

/* --- drawing --- */

/* Writes text into @width columns, cut or filled up. Return: the columns that it took. */
static int put_padded(int y, int x, int width, const char *text, bool is_right)
{
	wchar_t wide[DETAIL_WIDTH];
	size_t count = mbstowcs(wide, text, DETAIL_WIDTH - 1);
	int used = 0;
	size_t cut = 0;

	if (count == (size_t)-1)
		return 0;
	for (; cut < count; cut++) {
		int columns = wcwidth(wide[cut]);

		if (columns < 0)
			wide[cut] = L'?';
		columns = columns < 0 ? 1 : columns;
		if (used + columns > width)
			break;
		used += columns;
	}
	mvhline(y, x, ' ', width);
	mvaddnwstr(y, x + (is_right ? width - used : 0), wide, (int)cut);
	return used;
}

static void draw_line(int y, const char *text)
{
	put_padded(y, 0, COLS, text, false);
}

static void draw_cells(const struct screen *screen, int y, const struct cell *cells)
{
	const struct rows *rows = &screen->rows;
	int x = 1;

	for (size_t i = 0; i < rows->column_count && x < COLS; i++) {
		const struct column *column = &rows->columns[i];
		int width = column->width && x + column->width < COLS ? column->width : COLS - x;
		bool is_last = i + 1 == rows->column_count;

		put_padded(y, x, width, cells ? cells[i].text : column->title,
			column->is_number && !is_last);
		x += width + 1;
	}
}

static uint32_t visible_rows(void)
{
	int rows = LINES - ABOVE - 1;

	if (rows < 1)
		return 1;
	return rows > TOP_ROWS_MOST ? TOP_ROWS_MOST : (uint32_t)rows;
}

static void draw_table(const struct screen *screen)
{
	const struct rows *rows = &screen->rows;

	attron(A_REVERSE);
	mvhline(TOP_HEAD, 0, ' ', COLS);
	draw_cells(screen, TOP_HEAD, NULL);
	attroff(A_REVERSE);
	for (uint32_t i = 0; i < visible_rows(); i++) {
		uint32_t row = screen->first + i;

		if (row >= rows->count)
			break;
		if (row == screen->selected)
			attron(A_BOLD);
		draw_cells(screen, ABOVE + (int)i, rows->cells[rows->order[row]]);
		mvaddch(ABOVE + (int)i, 0, row == screen->selected ? '>' : ' ');
		attroff(A_BOLD);
	}
	if (rows->count == 0 && screen->now.totals)
		draw_line(ABOVE, " nothing to show here");
}

static void draw_head(const struct screen *screen)
{
	char lines[TOP_HEAD][160];

	head_text(lines, &screen->now, &screen->before,
		*screen->broker ? ww_broker_address(*screen->broker) : "");
	for (int i = 0; i < TOP_HEAD; i++)
		draw_line(i, lines[i]);
}

static void draw_detail(const struct screen *screen)
{
	char lines[DETAIL_LINES][DETAIL_WIDTH];
	size_t count = 0;

	if (*screen->broker)
		count = detail_text(lines, *screen->broker, screen->names, &screen->detail);
	for (size_t i = 0; i < count && (int)i < LINES - ABOVE; i++)
		draw_line(TOP_HEAD + (int)i, lines[i]);
}

static void draw_help(void)
{
	int count = (int)(sizeof(help_lines) / sizeof(help_lines[0]));

	for (int i = 0; i < count && i < LINES - 1; i++)
		draw_line(i, help_lines[i]);
}

/* What the table shows. */
static void describe(const struct screen *screen, char *out, size_t room)
{
	const struct wish *wish = screen->wish;
	size_t columns;
	const struct column *column = top_columns(wish->view, &columns);
	const char *sort = wish->sort >= 0 ? column[wish->sort].title : "size";

	snprintf(out, room, "%s%s%s%s%s%.60s, by %s%s, page %u, %.1f s | h help, q quit",
		wish->is_own ? "own " : "", top_view_name(wish->view),
		wish->view == TOP_OBJECTS && wish->kind ? " " : "",
		wish->view == TOP_OBJECTS && wish->kind ? format_kind(wish->kind) : "",
		wish->prefix[0] ? " /" : "", wish->prefix, sort,
		wish->is_reversed ? " reversed" : "", wish->page + 1,
		(double)screen->interval_ns / 1e9);
}

static void draw(const struct screen *screen)
{
	char line[DETAIL_WIDTH];

	erase();
	if (screen->mode == SCREEN_HELP) {
		draw_help();
	} else {
		draw_head(screen);
		if (screen->mode == SCREEN_DETAIL)
			draw_detail(screen);
		else
			draw_table(screen);
	}
	if (screen->mode == SCREEN_FILTER)
		snprintf(line, sizeof(line), "/%s_", screen->typed);
	else if (screen->mode == SCREEN_TABLE)
		describe(screen, line, sizeof(line));
	else
		snprintf(line, sizeof(line), "any key goes back");
	put_padded(LINES - 1, 0, COLS - 1, line, false);
	refresh();
}

/* --- asking --- */

/* Rates are those since the last refresh in time, also if keys make the rows others meanwhile. */
static void ask(struct screen *screen, bool is_in_time)
{
	struct sample now;

	screen->wish->rows = visible_rows();
	sample_take(&now, screen->address, screen->broker, screen->wish);
	if (is_in_time) {
		sample_free(&screen->before);
		screen->before = screen->now;
	} else {
		sample_free(&screen->now);
	}
	screen->now = now;
	rows_fill(&screen->rows, screen->wish, *screen->broker, screen->names, &screen->now,
		&screen->before);
	if (screen->selected >= screen->rows.count)
		screen->selected = screen->rows.count ? (uint32_t)screen->rows.count - 1 : 0;
}

static void look(struct screen *screen)
{
	ask(screen, false);
}

/* Another view or condition: from its beginning. */
static void begin_anew(struct screen *screen)
{
	screen->wish->page = 0;
	screen->selected = screen->first = 0;
	look(screen);
}

/* --- keys --- */

static void turn_page(struct screen *screen, bool is_forward)
{
	struct wish *wish = screen->wish;

	if (is_forward && screen->now.has_next_page && wish->page + 1 < TOP_PAGES) {
		wish->page++;
		wish->places[wish->page].bytes = screen->now.next_bytes;
		wish->places[wish->page].number = screen->now.next_number;
		screen->selected = 0;
		look(screen);
	} else if (!is_forward && wish->page > 0) {
		wish->page--;
		screen->selected = visible_rows() - 1;
		look(screen);
	}
}

static bool is_in_pages(const struct screen *screen)
{
	return screen->wish->view == TOP_OBJECTS || screen->wish->view == TOP_PROCESSES;
}

static void select_row(struct screen *screen, int64_t row)
{
	if (is_in_pages(screen) && row < 0)
		turn_page(screen, false);
	else if (is_in_pages(screen) && row >= (int64_t)screen->rows.count)
		turn_page(screen, true);
	else if (row >= 0 && screen->rows.count > 0)
		screen->selected = row < (int64_t)screen->rows.count
			? (uint32_t)row
			: (uint32_t)screen->rows.count - 1;
	else
		screen->selected = 0;
	if (is_in_pages(screen) || screen->selected < screen->first)
		screen->first = is_in_pages(screen) ? 0 : screen->selected;
	else if (screen->selected >= screen->first + visible_rows())
		screen->first = screen->selected - visible_rows() + 1;
}

static void choose_view(struct screen *screen, enum top_view view)
{
	screen->wish->view = view;
	screen->wish->sort = -1;
	screen->wish->is_reversed = false;
	screen->wish->prefix[0] = 0;
	begin_anew(screen);
}

static void choose_sort(struct screen *screen, int step)
{
	size_t columns;
	int sort = screen->wish->sort + step;

	(void)top_columns(screen->wish->view, &columns);
	if (sort >= (int)columns)
		sort = -1;
	screen->wish->sort = sort < -1 ? (int)columns - 1 : sort;
	look(screen);
}

static void open_detail(struct screen *screen)
{
	struct ww_object_info object = WW_INIT(struct ww_object_info);

	if (screen->wish->view != TOP_OBJECTS || screen->selected >= screen->rows.count ||
		ww_snapshot_object(screen->now.rows, screen->rows.order[screen->selected],
			&object) != WW_OK)
		return;
	screen->detail = object;
	screen->mode = SCREEN_DETAIL;
}

static void change_interval(struct screen *screen, bool is_shorter)
{
	uint64_t interval_ns = is_shorter ? screen->interval_ns / 2 : screen->interval_ns * 2;

	if (interval_ns >= INTERVAL_MIN && interval_ns <= INTERVAL_MAX)
		screen->interval_ns = interval_ns;
}

/* Keys that move. Return: whether it was one. */
static bool on_move(struct screen *screen, int key)
{
	int64_t row = screen->selected;

	switch (key) {
	case KEY_UP:
		select_row(screen, row - 1);
		return true;
	case KEY_DOWN:
		select_row(screen, row + 1);
		return true;
	case 'n':
	case KEY_NPAGE:
		select_row(screen, is_in_pages(screen) ? INT32_MAX : row + visible_rows());
		return true;
	case 'p':
	case KEY_PPAGE:
		select_row(screen,
			is_in_pages(screen) || row < visible_rows() ? -1 : row - visible_rows());
		return true;
	case 'g':
	case KEY_HOME:
		begin_anew(screen);
		return true;
	default:
		return false;
	}
}

/* Keys that change what is shown. */
static void on_choice(struct screen *screen, int key)
{
	struct wish *wish = screen->wish;

	if (key >= '1' && key < '1' + TOP_VIEWS)
		choose_view(screen, (enum top_view)(key - '1'));
	else if (key == '\t')
		choose_view(screen, (enum top_view)((wish->view + 1) % TOP_VIEWS));
	else if (key == 's' || key == 'S')
		choose_sort(screen, key == 's' ? 1 : -1);
	else if (key == 'r')
		wish->is_reversed = !wish->is_reversed, look(screen);
	else if (key == 'k')
		wish->kind = (wish->kind + 1) % (WW_OBJECT_WORK_QUEUE + 1), begin_anew(screen);
	else if (key == 'o')
		wish->is_own = !wish->is_own, begin_anew(screen);
	else if (key == '+' || key == '-')
		change_interval(screen, key == '+');
	else if (key == ' ')
		look(screen);
}

static void on_table_key(struct screen *screen, int key)
{
	if (key == 'q')
		screen->is_ending = true;
	else if (key == 'h' || key == '?' || key == KEY_F(1))
		screen->mode = SCREEN_HELP;
	else if (key == '\n' || key == '\r' || key == KEY_ENTER)
		open_detail(screen);
	else if (key == '/') {
		screen->typed[0] = 0;
		screen->mode = SCREEN_FILTER;
	} else if (key == KEY_RESIZE)
		begin_anew(screen);
	else if (!on_move(screen, key))
		on_choice(screen, key);
}

static void on_filter_key(struct screen *screen, int key)
{
	size_t length = strlen(screen->typed);

	if (key == '\n' || key == '\r' || key == KEY_ENTER) {
		memcpy(screen->wish->prefix, screen->typed, sizeof(screen->wish->prefix));
		screen->mode = SCREEN_TABLE;
		begin_anew(screen);
	} else if (key == KEY_ESCAPE) {
		screen->mode = SCREEN_TABLE;
	} else if (key == KEY_BACKSPACE || key == 127 || key == '\b') {
		if (length > 0)
			screen->typed[length - 1] = 0;
	} else if (key >= ' ' && key < 256 && length + 1 < sizeof(screen->typed)) {
		screen->typed[length] = (char)key;
		screen->typed[length + 1] = 0;
	}
}

static void on_key(struct screen *screen, int key)
{
	switch (screen->mode) {
	case SCREEN_TABLE:
		on_table_key(screen, key);
		break;
	case SCREEN_FILTER:
		on_filter_key(screen, key);
		break;
	default:
		screen->mode = SCREEN_TABLE;
		break;
	}
}

/* --- the loop --- */

/* Waits for a key until the next refresh. Return: ERR: there was none. */
static int next_key(uint64_t until_ns)
{
	uint64_t now_ns = link_now_ns();

	timeout(until_ns > now_ns ? (int)((until_ns - now_ns) / NS_PER_MS) + 1 : 0);
	return getch();
}

static int screen_open(void)
{
	setlocale(LC_ALL, "");
	if (!newterm(NULL, stdout, stdin))
		return refuse("cannot use this terminal (TERM is %s); see warpway top --once",
			getenv("TERM") ? getenv("TERM") : "not set");
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	/* Terminals send these also where terminfo does not say so, as for vt100. */
	define_key("\033[6~", KEY_NPAGE);
	define_key("\033[5~", KEY_PPAGE);
	define_key("\033[1~", KEY_HOME);
	(void)curs_set(0);
	set_escdelay(50);
	return 0;
}

int screen_run(const char *address, ww_broker **broker, struct wish *wish, struct view *names,
	uint64_t interval_ns)
{
	static struct screen screen;
	uint64_t next_ns = 0;
	int code = screen_open();

	if (code)
		return code;
	screen.address = address;
	screen.broker = broker;
	screen.wish = wish;
	screen.names = names;
	screen.interval_ns = interval_ns;
	while (!screen.is_ending && !interrupt_came()) {
		int key;

		if (link_now_ns() >= next_ns) {
			ask(&screen, true);
			next_ns = link_now_ns() + screen.interval_ns;
		}
		draw(&screen);
		key = next_key(next_ns);
		if (key != ERR)
			on_key(&screen, key);
	}
	endwin();
	sample_free(&screen.now);
	sample_free(&screen.before);
	return EXIT_DONE;
}
