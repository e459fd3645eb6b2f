const scrollToPlace = reportPage(JSON.parse(document.getElementById("data").textContent));
scrollToPlace();
addEventListener("hashchange", scrollToPlace);
