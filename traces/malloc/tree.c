#include <stdio.h>
#include <stdlib.h>

struct node {
	int key;
	struct node *left, *right;
};

static struct node *insert(struct node *node, int key)
{
	if (!node) {
		node = calloc(1, sizeof *node);
		node->key = key;
	} else if (key < node->key) {
		node->left = insert(node->left, key);
	} else {
		node->right = insert(node->right, key);
	}
	return node;
}

int main(void)
{
	struct node *root = 0;

	for (int number = 0; number < 1000; number++)
		root = insert(root, number * 7919 % 1009);
	printf("%d\n", root->key);
	return 0;
}
