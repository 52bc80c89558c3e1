// Adds sorting, filtering and readouts to a page. Without it, the page is complete.
"use strict";
(() => {
    const make = (name, text) => Object.assign(document.createElement(name), { textContent: text });

    // Compares two cells of a column; cells without a value come last in both orders.
    const missing = (cell) => cell.classList.contains("m");
    const compare = (one, two) => {
        const [a, b] = [one, two].map((cell) => cell.dataset.v ?? cell.textContent);
        // Times are written such that their texts have the right order.
        const number = one.dataset.v && two.dataset.v ? Number(a) - Number(b) : NaN;
        return !isNaN(number) ? number : a < b ? -1 : a > b ? 1 : 0;
    };

    const sort = (table, column) => {
        const heads = [...table.tHead.rows[0].cells];
        const head = heads[column];
        const is_number = head.classList.contains("n") || head.classList.contains("d");
        const before = head.getAttribute("aria-sort");
        const order = before === null ? (is_number ? "descending" : "ascending") : before === "ascending" ? "descending" : "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", order);
        const sign = order === "ascending" ? 1 : -1;
        const body = table.tBodies[0];
        const rows = [...body.rows].sort((one, two) => {
            const [a, b] = [one.cells[column], two.cells[column]];
            return missing(a) - missing(b) || (missing(a) ? 0 : sign * compare(a, b));
        });
        body.append(...rows);
    };

    const filter = (table) => {
        const rows = [...table.tBodies[0].rows];
        const bar = make("p", "");
        bar.className = "filter";
        const label = make("label", "Filter rows ");
        const input = make("input", "");
        input.type = "search";
        const count = make("span", "");
        count.setAttribute("role", "status");
        label.append(input);
        bar.append(label, count);
        table.closest(".scroll").before(bar);
        const texts = new Map();
        input.addEventListener("input", () => {
            const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
            let shown = 0;
            for (const row of rows) {
                if (!texts.has(row)) {
                    texts.set(row, [...row.cells].map((cell) => cell.textContent.toLowerCase()).join(" "));
                }
                row.hidden = !wanted.every((word) => texts.get(row).includes(word));
                shown += row.hidden ? 0 : 1;
            }
            count.textContent = wanted.length ? `${shown} of ${rows.length} rows` : "";
        });
    };

    for (const table of document.querySelectorAll("table.rows")) {
        const rows = table.tBodies[0].rows.length;
        if (rows > 1) {
            [...table.tHead.rows[0].cells].forEach((head, column) => {
                if (head.textContent === "") return;
                const button = make("button", head.textContent);
                button.type = "button";
                button.addEventListener("click", () => sort(table, column));
                head.replaceChildren(button);
            });
        }
        if (rows > 5) {
            filter(table);
        }
    }

    // Native tooltips are slow and do not exist on touch screens.
    for (const figure of document.querySelectorAll("figure")) {
        const plot = figure.querySelector(".plot");
        const readout = make("p", "");
        readout.className = "readout";
        readout.hidden = true;
        readout.setAttribute("aria-hidden", "true");
        figure.append(readout);
        plot.addEventListener("pointerover", (event) => {
            const title = event.target.closest("rect")?.querySelector("title");
            readout.hidden = !title;
            readout.textContent = title ? title.textContent : "";
        });
        plot.addEventListener("pointerleave", () => { readout.hidden = true; });
    }
})();
