"""The formats that can be read, one module or package each; `inspector.session.registry` names them."""
