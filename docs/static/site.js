// Tables of three columns and more become blocks on a narrow screen (site.css); each cell then needs the heading of its column.
document.addEventListener("DOMContentLoaded", () => {
	for (const table of document.querySelectorAll("article table.docutils")) {
		const headings = [...table.querySelectorAll("thead th")].map((cell) => cell.textContent.trim());
		if (headings.length < 3) continue;
		table.classList.add("wide");
		for (const row of table.tBodies[0].rows) {
			[...row.cells].forEach((cell, i) => { cell.dataset.column = headings[i] ?? ""; });
		}
	}
});
