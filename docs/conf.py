"""How Sphinx builds the site: ``make docs``. Nothing is fetched, and warnings are errors."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

import bbclust

project = "bbclust"
author = "the bbclust developers"
release = version = bbclust.__version__
extensions = [
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["gallery/**/*.ipynb", "gallery/**/*.zip"]
html_theme = "pydata_sphinx_theme"
html_title = "bbclust"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {page: [] for page in ("start", "choosing_k", "priors", "scale", "something_else")}
project_copyright = author

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"
autodoc_inherit_docstrings = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

plot_html_show_source_link = True
plot_html_show_formats = False
plot_formats = [("png", 110)]
plot_include_source = False
plot_rcparams = {"figure.constrained_layout.use": True, "font.size": 10}
plot_apply_rcparams = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/\d\d_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 0,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "plot_gallery": "True",
    "write_computation_times": False,
}


def inline_math(writer: HTML5Translator, node: nodes.math) -> None:
    """A formula in a line."""
    writer.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def math_block(writer: HTML5Translator, node: nodes.math_block) -> None:
    """A formula of its own."""
    writer.body.append(f'<div class="formula">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def skip_foreign_members(
    _app: Sphinx, _what: str, _name: str, member: Any, skip: bool, _options: Any
) -> bool:
    """Methods that scikit-learn or Python give to a class are described there."""
    function = getattr(member, "fget", None) or member
    home = getattr(function, "__module__", None) or ""
    return skip or not home.startswith("bbclust")


def setup(app: Sphinx) -> None:
    """Formulas as MathML, which browsers show by themselves: MathJax would have to be fetched."""
    app.add_html_math_renderer("mathml", (inline_math, None), (math_block, None))
    app.connect("autodoc-skip-member", skip_foreign_members)


html_math_renderer = "mathml"
